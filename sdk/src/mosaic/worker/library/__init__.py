"""The template for workers around an RL library: what is the same for all of them. Standard library only at import.

`runtime.LibraryRuntime` is the whole life of a run: dry run, build, resume, train, evaluate, summary. A shim, the
package around one library, is small:

* ``__init__.py`` and ``__main__.py``: who the worker is, and its start, both by `mosaic.worker.shim`.
* ``config.py``: a `config.LibrarySettings` with the fields of its own library; its ``library_faults`` asks the real
  arguments.
* ``schema.py``: the published schema, one branch per algorithm, by `mosaic.worker.shim` where there are only these.
* ``runtime.py``: a `LibraryRuntime` that names the worker, the library and the trainer.
* ``trainer.py``: a `trainer.Trainer`, the only module that imports the library:

  - ``build()`` makes environments and learner, and returns the library's arguments as they really are;
  - ``advance()`` learns to ``total_steps``, in the library's own loop. It calls ``training.boundary(step)`` wherever
    the state is whole (between two rollouts, turns or iterations): there the template evaluates, saves, holds or
    stops. A stop is `control.StopRequested`, raised out of ``boundary``; being no `Exception`, no library swallows it;
  - ``save(folder)`` writes what goes on exactly, and returns what had to be left out; ``load(folder)`` gives it back;
  - ``policy(folder)`` returns what acts, of a checkpoint or of the training under way: a `trainer.Policy`, whose
    ``act`` answers an observation. A library that plays by itself, or for a team, overrides ``Policy.play``.

The library's loop stays the library's: CleanRL's script, XuanCe's and SB3's callbacks and RLlib's iterations all know
such boundaries, and nothing else is asked of them. While it learns, a trainer tells `training.Training` of episodes and
metrics, which go to the platform, TensorBoard and W&B alike.

A checkpoint is a folder that appears whole or not at all: ``about.json`` (passport, progress, settings, what starts
anew), ``generators.pt`` (Python, NumPy, torch and CUDA) and what the trainer wrote beside them.
"""
