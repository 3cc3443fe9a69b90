"""Models on disk and on the Hub: pairs, downloads, compatibility and memory estimates."""
