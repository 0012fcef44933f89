@rem The script `start` of package.json begins with `exec`, which is a part of the shell everywhere but on Windows.
@%*
