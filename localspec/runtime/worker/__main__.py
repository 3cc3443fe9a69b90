"""``python -m localspec.runtime.worker``: the engine process. The app starts it; people need not."""

from localspec.runtime.worker.child import main

if __name__ == "__main__":
    main()
