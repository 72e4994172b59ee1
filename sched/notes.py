"""What a reader of a workload should know: rows left out, requests cut, time stamps put in order."""

from __future__ import annotations

from dataclasses import dataclass

NOTES = {
    "prompts_cut": "{count} prompts were cut so that prompt and answer fit in max_model_len ({limit} tokens)",
    "outputs_cut": "{count} answers were cut to fit in max_model_len ({limit} tokens)",
    "put_in_order": "{count} rows arrive earlier than the row before them; all rows were sorted by time",
    "rows_left_out": "{count} rows with an empty prompt or answer (failed requests) were left out",
    "requests_cut": "{count} more requests are in the window; a run takes at most {limit}",
    "more_results": "{count} more results in the file were left out; the first one is used",
    "lengths_drawn": "the file has arrival times only; the lengths of all {count} requests are drawn from the settings",
    "arrivals_drawn": "the file models a client: the first {count} arrivals were drawn from its rates and gap shapes",
}


@dataclass(frozen=True, slots=True)
class Note:
    """One remark on a workload; the view has the same codes in every language.

    Attributes:
        code: key of NOTES.
        count: how many rows or requests it is about.
        limit: the limit that was met, if any.
    """

    code: str
    count: int
    limit: int = 0

    def message(self, template: str) -> str:
        """The remark in the language of `template`."""
        return template.format(count=f"{self.count:,}", limit=f"{self.limit:,}")

    def __str__(self) -> str:
        return self.message(NOTES[self.code])
