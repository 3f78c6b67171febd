"""Look for requests that take more time or memory than their length explains.

    DATABASE_URL=postgres://... python -m tests.benchmarks.costs [--short] [NAME ...]

The calls come from the OpenAPI document: for every operation and every field
and parameter in it, values that are as large, as many or as odd as they can be,
alone and together. The pages are those of the admin site, with every parameter
that Django, a filter, a form or a link of the page has. Meanwhile, the rows of
the database are as large as calls can make them.

It prints the dearest requests of each operation and page, with the CPU time and
the memory for each kB that was sent and received. It fails if a request takes
more than 20 ms or 1 MiB for each of them, more than 10 s, or has a status of
500. NAME is the operation or the page to look at, by default all.

The memory is the growth of the process, which includes what libraries in C
take. On PostgreSQL, the CPU time includes that of the connection's process.
The database is a new one, on SQLite if DATABASE_URL is not set. Each request is
undone.
"""
