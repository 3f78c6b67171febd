"""Measure how long the API takes to decode the bodies that take longest.

    python -m tests.benchmarks.decoding

It prints the CPU time for a body of 1 MiB and of 8 MiB, the least of five. A
body with too many values is refused, so that a larger one may take less time.
"""

import gc
import time

from usergroups.api.strict_json import decode

MIB = 1024 * 1024
MEMBERS = {
    "empty lists": b"[]",
    "lists": b"[0]",
    "objects": b'{"a":1}',
    "nested 60 deep": b"[" * 60 + b"]" * 60,
    "strings": b'"abcdefgh"',
    "strings with brackets": b'"["',
    "long strings with commas": b'"' + b"," * 100_000 + b'"',
    "escapes": rb'"\n\"\\"',
    "surrogate pairs": rb'"\ud83d\ude00"',
    "escaped backslashes before u0000": rb'"\\u0000"',
    "integers": b"100",
    "integers and a long string of digits": b"100",
    "numbers": b"1.5",
}


def body_of(size, member, beginning=b""):
    """Return a JSON object with a list of as many members as ``size`` allows."""
    return (
        b'{"a":['
        + beginning
        + b",".join([member] * (size // (len(member) + 1)))
        + b"]}"
    )


def milliseconds(body):
    begin = time.thread_time()
    try:
        decode(body)
    except ValueError:
        outcome = "refused"
    else:
        outcome = ""
    return (time.thread_time() - begin) * 1000, outcome


def main():
    gc.collect()
    gc.freeze()  # as the service does
    for name, member in MEMBERS.items():
        beginning = b'"' + b"1" * 400 + b'",' if "digits" in name else b""
        cells = []
        for size in (MIB, 8 * MIB):
            body = body_of(size, member, beginning)
            time_taken, outcome = min(milliseconds(body) for _ in range(5))
            cells.append(f"{time_taken:8.1f} ms {outcome:8}")
        print(f"{name:38}", *cells)


if __name__ == "__main__":
    main()
