"""`python -m calprobe` is the console script `calprobe`."""

from calprobe.cli import main

if __name__ == "__main__":
    main()
