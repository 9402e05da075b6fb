"""`python -m ebbflow`: the command line without its script.

Spark's workers, make and people whose PATH does not name the environment all reach the tools this way.

Rule: it does what the `ebbflow` command does and nothing else.
"""

from ebbflow.tools.cli import main

if __name__ == "__main__":
    main()
