"""Where the ``mosaic`` command starts: whatever goes wrong ends as one clear message and its own exit code."""

from __future__ import annotations

import sys

_INTERRUPTED = 130
#: Whoever asks for JSON gets the error as JSON, too.
_JSON_OPTIONS = {"--json", "--jsonl"}


def main() -> None:
    """Run the command."""
    as_json = not _JSON_OPTIONS.isdisjoint(sys.argv)
    # Whoever presses Ctrl-C while the code is still being read has interrupted the command as well.
    try:
        from mosaic.cli.app import app
        from mosaic.cli.faults import tell

        try:
            # Typer tells people of a wrong option by itself, and knows no other way to tell it.
            sys.exit(app(prog_name="mosaic", standalone_mode=not as_json))
        except Exception as error:
            sys.exit(tell(error, as_json=as_json))
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
