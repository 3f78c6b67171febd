"""Free what the traceback of a handled error refers to."""

import traceback


def release_cursors(error: Exception) -> None:
    """Release the database cursors that the traceback of ``error`` refers to.

    The traceback is part of a reference cycle. On SQLite, a thread whose garbage collection finds the cursor of another
    thread waits until that thread's connection is idle. If that connection waits for a lock of the first thread, both
    wait until the time limit for locks, 20 seconds by default.
    """
    chained: BaseException | None = error
    while chained is not None:
        traceback.clear_frames(chained.__traceback__)
        chained = chained.__cause__ or chained.__context__
