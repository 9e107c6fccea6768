"""The page of replies with as many as a large run has: python bench/replies_page.py [--questions N] [--variants N].

Made-up texts of the lengths of multiple-choice questions, prompts with five examples. Prints the size of the file, the
seconds to write it and to show it in headless Chromium, those of a search, and the memory of its scripts. Needs
playwright and Chromium.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from calprobe.presentation.replies_page import replies_page
from calprobe.studies.asked.shown_replies import RunReplies, ShownReply

WORDS = [
    f"{first}{second}" for first in ("ba", "ke", "lo", "mi", "nu", "ra", "so") for second in ("", "n", "ter", "la")
]


def made_replies(questions: int, variants: int) -> list[ShownReply]:
    """Replies of about 40 words to questions of about 30, each with four options."""
    draw = random.Random(0)

    def words(n: int) -> str:
        return " ".join(draw.choices(WORDS, k=n))

    examples = [words(300) for _ in range(variants)]
    replies = []
    for number in range(questions):
        text, options = words(30), {label: words(5) for label in "ABCD"}
        for variant in range(variants):
            answer, gold = draw.choice("ABCD"), draw.choice("ABCD")
            reply, sure = f"{words(20)} Answer: {answer}", draw.random()
            values = dict.fromkeys(("label", "label_raw", "stated_percent"), sure)
            replies.append(
                ShownReply(
                    set="made",
                    question=str(number),
                    variant=f"variant_{variant}",
                    paraphrase=0,
                    sample=0,
                    group=f"group {number % 57}",
                    kind="choice",
                    text=text,
                    options=options,
                    gold=gold,
                    prompt=f"{examples[variant]}\n{text}\n{options}",
                    reply=reply,
                    thought="",
                    cut=False,
                    answer=answer,
                    start=len(reply) - 1,
                    end=len(reply),
                    reader="last_marker",
                    rule="marker",
                    status="ok",
                    correct=answer == gold,
                    graded_by="label",
                    abstained=False,
                    labels=dict.fromkeys("ABCD", 0.25),
                    confidences=values,
                    confidence=sure,
                    tokens_out=40,
                )
            )
    return replies


def measured(html: str, folder: str) -> dict[str, float]:
    """Seconds and MiB in the browser."""
    file = Path(folder) / "replies.html"
    file.write_text(html, "utf-8")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        start = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector("body[data-ready]", timeout=120_000)
        ready = time.perf_counter() - start
        page.select_option("#kind", "all")
        start = time.perf_counter()
        page.fill("#search", "kenban")
        page.locator("#count", has_text=re.compile(r"^0 of")).wait_for()
        search = time.perf_counter() - start
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000")
        browser.close()
    return {
        "first paint, s": paint,
        "ready, s": ready,
        "search, s (0.08 of it waiting for keys)": search,
        "heap, MiB": metrics["JSHeapUsedSize"] / 2**20,
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=14_042)
    parser.add_argument("--variants", type=int, default=5)
    arguments = parser.parse_args()
    replies = made_replies(arguments.questions, arguments.variants)
    start = time.perf_counter()
    html = replies_page(RunReplies("made", "label", tuple(replies)))
    print(f"{len(replies):,} replies: {len(html) / 2**20:.1f} MiB, written in {time.perf_counter() - start:.1f} s")
    with tempfile.TemporaryDirectory() as folder:
        for name, value in measured(html, folder).items():
            print(f"{name}: {value:.2f}")


if __name__ == "__main__":
    main()
