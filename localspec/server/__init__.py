"""The HTTP server: the pairs of this machine for other programs, through the APIs that they speak.

Only this package imports starlette and uvicorn.
"""
