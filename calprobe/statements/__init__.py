"""Statements: templates filled with subjects and candidates."""

from __future__ import annotations

from calprobe.statements.fill import Statement, fill, join, same_by_upper_case, statements_of
from calprobe.statements.template_sets import (
    Template,
    TemplateSet,
    default_template_set,
    load_template_set,
    select_templates,
)

__all__ = [
    "Statement",
    "Template",
    "TemplateSet",
    "default_template_set",
    "fill",
    "join",
    "load_template_set",
    "same_by_upper_case",
    "select_templates",
    "statements_of",
]
