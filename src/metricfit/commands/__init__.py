"""The commands of the command line, a module each: it declares its arguments and runs.

``arguments/`` has what several commands ask for and how it is read, ``terminal/`` what they answer with.
"""

#: What each command does, in the order of the help. A command's module is imported only when it is asked for.
COMMANDS = {
    "demo": "run the main job on a generated fraud-triage data set",
    "fit": "find the best policy for a metric under constraints, from a table of scores",
    "apply": "decide the rows of a table with a policy file, in their order",
    "evaluate": "print what a policy reaches on labelled rows, with 95 % intervals, and which limits hold there",
    "frontier": "trade a metric against a constraint: the best value at each of several limits",
    "explore": "serve a page on this machine where limits are moved and what they cost is seen at once",
    "metrics": "list the metrics, or tell all about one",
    "export": "write a policy's deterministic rule as SQL, an ONNX model or a Python module",
    "completion": "print a script that completes commands and options in your shell",
}
