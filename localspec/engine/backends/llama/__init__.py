"""The backend of llama.cpp, through its C API."""
