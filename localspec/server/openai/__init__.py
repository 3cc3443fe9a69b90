"""The API of OpenAI, with the fields that llama-server adds to it.

Fields that nothing here knows are ignored, as llama-server ignores them.
"""
