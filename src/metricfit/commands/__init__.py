"""The commands of the command line. Each is a module that declares its arguments and runs.

``arguments/`` has arguments that several commands share, ``terminal/`` what commands print.
"""

#: What each command does, in the order of the help. A command's module is imported only when it is asked for.
COMMANDS = {
    "demo": "run an example on a generated fraud-triage data set",
    "fit": "find the best policy for a metric under constraints, from a table of scores",
    "apply": "decide the rows of a table with a policy file, in their order",
    "evaluate": "print what a policy achieves on labelled rows, with 95 % intervals, and which limits hold there",
    "adapt": "solve a policy's problem again for the class shares of new rows, without new labels",
    "monitor": "watch a policy on new rows, batch after batch; an alarm is a proof, however often one looks",
    "frontier": "trade a metric against a constraint: the best value at each of several limits",
    "explore": "serve a page on this machine with sliders for the limits, which shows at once what they cost",
    "metrics": "list the metrics, or describe one",
    "export": "write a policy's deterministic rule as SQL, an ONNX model or a Python module",
    "datasets": "make a folder with the data sets of the paper, from the files that their authors have published",
    "completion": "print a script that completes commands and options in your shell",
}
