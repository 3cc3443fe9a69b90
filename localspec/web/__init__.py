"""The chat screen in a browser tab.

Needs the extra ``web``; only this package imports textual-serve and aiohttp.
"""
