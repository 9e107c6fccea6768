"""What is known of a server before questions are asked: which software it is, and what it can do."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from calprobe.backends.openai.client import Client, RequestFailedError
from calprobe.backends.openai.server_answers import Answer
from calprobe.backends.openai.spending import BUDGETS
from calprobe.backends.options import BackendOptions
from calprobe.errors import CalprobeError
from calprobe.messages import did_you_mean

log = logging.getLogger(__name__)

Flavour = Literal["openai", "vllm", "llama.cpp", "other"]

_OWNERS: Mapping[str, Flavour] = {"vllm": "vllm", "llamacpp": "llama.cpp", "openai": "openai", "system": "openai"}
_HOSTS: Mapping[str, Flavour] = {"api.openai.com": "openai"}
WINDOW = 20  # most probable tokens that servers show at most, unless they were started otherwise

# What is switched off so that samples follow the model's own distribution, and thinking where a template allows it.
EXTRAS: Mapping[Flavour, Mapping[str, Any]] = {
    "openai": {},
    "other": {},
    "llama.cpp": {"top_k": 0, "min_p": 0.0, "chat_template_kwargs": {"enable_thinking": False}},
    "vllm": {
        "top_k": -1,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "return_token_ids": True,
        "chat_template_kwargs": {"enable_thinking": False},
    },
}
# How an assistant's turn is continued; None: it cannot be.
CONTINUING: Mapping[Flavour, Mapping[str, Any] | None] = {
    "openai": None,
    "other": None,
    "llama.cpp": {},
    "vllm": {"continue_final_message": True, "add_generation_prompt": False},
}
# How a request says how long to think: OpenAI's field, and that of gateways such as OpenRouter.
_EFFORTS = ("reasoning_effort", "reasoning")
_VALUE = re.compile(r"\bvalues?\b|invalid", re.I)  # of a refusal: the parameter is known
# A model that thinks may refuse a budget that its thought does not fit into, instead of a reply that is cut.
OUT_OF_TOKENS = re.compile(r"output limit was reached|higher max_(completion_)?tokens", re.I)
_ROOM = 1024  # tokens of a first reply then
_UNKNOWN = re.compile(r"unsupported|not supported|unknown|unrecognized|not permitted|extra (field|input)", re.I)
TEMPERATURE, LOGPROBS = "temperature", "logprobs"  # what a request can do without


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a server wants its parameters: found by a first request, the same for all that follow."""

    budget: str  # what the number of new tokens is called
    refused: Mapping[str, str] = field(default_factory=dict)  # what is not sent -> what the server said of it
    effort: str = _EFFORTS[0]  # how the effort of thinking is given, if it is
    room: int = 1  # tokens of the first reply

    def after(self, said: str) -> Parameters | None:
        """Those to try next where the server refuses a request; None: nothing that it names can be left out.

        >>> Parameters("max_tokens").after("'max_tokens' is not supported. Use 'max_completion_tokens'.").budget
        'max_completion_tokens'
        >>> Parameters("max_tokens").after("'temperature' does not support 0").refused
        {'temperature': "'temperature' does not support 0"}
        """
        if OUT_OF_TOKENS.search(said):
            return None if self.room == _ROOM else replace(self, room=_ROOM)
        (budget,) = (name for name in BUDGETS if name != self.budget)
        if re.search(rf"\b{self.budget}\b", said) and (budget in said or _UNKNOWN.search(said)):
            return replace(self, budget=budget)
        left = [name for name in (TEMPERATURE, LOGPROBS) if name not in self.refused]
        # What is named first is refused: a temperature "is not supported with this reasoning_effort".
        named = sorted((said.index(name), name) for name in (*left, *_EFFORTS[:1]) if name in said)
        parameter = named[0][1] if named else LOGPROBS
        if parameter == _EFFORTS[0]:
            is_known = _VALUE.search(said) or not _UNKNOWN.search(said) or self.effort != _EFFORTS[0]
            return None if is_known else replace(self, effort=_EFFORTS[1])
        return replace(self, refused={**self.refused, parameter: said}) if parameter in left else None

    def fields(self, flavour: Flavour, options: BackendOptions) -> dict[str, Any]:
        """What all requests have beside the usual: what is switched off, the effort of thinking, the user's own."""
        fields, effort = dict(EXTRAS[flavour]), options.reasoning_effort
        if effort is not None:
            thinks: dict[str, Any] = {"enable_thinking": effort != "none"}
            if flavour == "llama.cpp":  # which knows no field of its own
                thinks["reasoning_effort"] = effort
            elif self.effort == _EFFORTS[0]:
                fields["reasoning_effort"] = effort
            else:
                fields["reasoning"] = {"effort": effort}
            if "chat_template_kwargs" in fields:
                fields["chat_template_kwargs"] = thinks
        for name, value in options.extra_body.items():
            both = isinstance(value, Mapping) and isinstance(fields.get(name), Mapping)
            fields[name] = {**fields[name], **value} if both else value
        return fields


@dataclass(frozen=True, slots=True)
class Server:
    """A server that has answered once."""

    flavour: Flavour
    says: str  # the model's name in its answers
    top_logprobs: int  # size of its window; 0: it shows none
    token_ids: bool
    continuing: Mapping[str, Any] | None  # what continues an assistant's turn; None: nothing
    versions: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)  # of the model, as the server lists it
    parameters: Parameters = Parameters(BUDGETS[0])
    fields: Mapping[str, Any] = field(default_factory=dict)  # of every request, see `Parameters.fields`


async def look_at(client: Client, model: str) -> Server:
    """Ask for one token, with log-probabilities if the server has any; so address, key and model are checked.

    Raises CalprobeError for a server that does not answer, with the names of its models where the name may be wrong.
    """
    models = await client.models()
    entry = _entry(models, model)
    flavour = _flavour(client.address, entry or {})
    window = client.options.top_logprobs or WINDOW
    try:
        answer, parameters = await _first_answer(client, model, flavour, window)
    except CalprobeError as error:
        raise _with_names(error, models, model) from error
    steps = answer.steps or ()
    continues = client.options.continues
    continuing = CONTINUING[flavour]
    return Server(
        flavour=flavour,
        says=answer.model,
        top_logprobs=len(steps[0].window) if steps else 0,
        token_ids=answer.token_ids is not None,
        continuing=(continuing or {}) if continues or (continues is None and continuing is not None) else None,
        versions={flavour: answer.system_fingerprint} if answer.system_fingerprint else {},
        details=_details(entry),
        parameters=parameters,
        fields=parameters.fields(flavour, client.options),
    )


def usual_budget(flavour: Flavour) -> str:
    """What such servers call the number of new tokens, before they say otherwise."""
    return BUDGETS[flavour == "openai"]


async def _first_answer(client: Client, model: str, flavour: Flavour, window: int) -> tuple[Answer, Parameters]:
    """The answer to a request with all parameters, or with those that the server leaves of them."""
    fields: Mapping[str, Mapping[str, Any]] = {
        TEMPERATURE: {"temperature": 0},
        LOGPROBS: {"logprobs": True, "top_logprobs": window},
    }
    parameters, first = Parameters(usual_budget(flavour)), None
    while True:
        body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": "Hi"}]}
        body |= {parameters.budget: parameters.room, **parameters.fields(flavour, client.options)}
        for name, values in fields.items():
            body |= {} if name in parameters.refused else values
        try:
            answer = await client.complete(body)
        except RequestFailedError as error:
            first = first or error
            changed = parameters.after(str(error))
            if changed is None or (changed.budget != parameters.budget != usual_budget(flavour)):
                effort = client.options.reasoning_effort
                hint = (
                    f"\n--reasoning-effort {effort}: give another, or leave it out"
                    if effort and "reasoning" in str(first)
                    else ""
                )
                raise CalprobeError(f"{client.address}: a first request for one token failed: {first}{hint}") from first
            parameters = changed
        else:
            _say(parameters, flavour)
            return answer, parameters


def _say(parameters: Parameters, flavour: Flavour) -> None:
    """Say what is not sent to the server, and why."""
    if parameters.budget != usual_budget(flavour):
        log.info("the server takes %s in place of %s", parameters.budget, usual_budget(flavour))
    if parameters.effort != _EFFORTS[0]:
        log.info("the server takes the effort of thinking as %s.effort", parameters.effort)
    if refusal := parameters.refused.get(
        TEMPERATURE
    ):  # without log-probabilities, what needs them is left out, and says so
        log.info("asked without %s: %s", TEMPERATURE, refusal)


def _entry(models: list[Mapping[str, Any]], model: str) -> Mapping[str, Any] | None:
    # llama.cpp lists a file and answers to any name: the only model is the one that answers.
    only = models[0] if len(models) == 1 else None
    return next((entry for entry in models if entry.get("id") == model), only)


def _flavour(address: str, entry: Mapping[str, Any]) -> Flavour:
    host = address.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return _HOSTS.get(host) or _OWNERS.get(str(entry.get("owned_by")), "other")


def _details(entry: Mapping[str, Any] | None) -> dict[str, Any]:
    """What tells the weights apart: llama.cpp's sizes of the model, the folder that vLLM has loaded."""
    if entry is None:
        return {}
    meta = entry.get("meta")
    details = {
        name: value for name, value in (meta if isinstance(meta, dict) else {}).items() if isinstance(value, int)
    }
    return details | ({"root": entry["root"]} if isinstance(entry.get("root"), str) else {})


def _with_names(error: CalprobeError, models: list[Mapping[str, Any]], model: str) -> CalprobeError:
    names = [str(entry.get("id")) for entry in models]
    if not names or model in names:
        return error
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return type(error)(f"{error}\n--model {model}: the server lists {listed}{did_you_mean(model, names)}")
