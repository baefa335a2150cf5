#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a screen reader is told of the graph, asked over the real bridge (AT-SPI).

screen_reader.py STUDIO MODEL WORD...    every WORD must be in the name of a node on both canvases

Starts itself again under a bus and an X server of its own; exit code 77, with a word, where one is missing.
"""
import os
import shutil
import subprocess
import sys
import time

LIMIT = 120  # seconds until the graph must be there


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def wrapped():
    for tool in ("dbus-run-session", "xvfb-run"):
        if not shutil.which(tool):
            skip(f"no {tool} on this machine")
    if not any(os.path.exists(f"{folder}/org.a11y.Bus.service") for folder in
               ("/usr/share/dbus-1/services", "/usr/local/share/dbus-1/services")):
        skip("no bridge for screen readers on this machine (package at-spi2-core)")
    environment = dict(os.environ, SCREEN_READER_INSIDE="1", QT_QPA_PLATFORM="xcb",
                       QT_LINUX_ACCESSIBILITY_ALWAYS_ON="1", QT_ACCESSIBILITY="1")
    command = ["dbus-run-session", "--", "xvfb-run", "-a", "-s", "-screen 0 1280x800x24",
               sys.executable, *sys.argv]
    sys.exit(subprocess.run(command, env=environment, timeout=LIMIT + 60).returncode)


def descendants(node, depth=0):
    yield node
    if depth < 30:
        for index in range(node.childCount):
            child = node.getChildAtIndex(index)
            if child:
                yield from descendants(child, depth + 1)


def names_in(lists, pyatspi):
    out = []
    for each in lists:
        items = [each.getChildAtIndex(i) for i in range(each.childCount)]
        out.append((each.name, [i.name for i in items if i and i.getRole() == pyatspi.ROLE_LIST_ITEM]))
    return out


def graphs(pyatspi, pid):
    """Of each canvas its name and the names of its nodes; empty while the window has none."""
    desktop = pyatspi.Registry.getDesktop(0)
    for application in (desktop.getChildAtIndex(i) for i in range(desktop.childCount)):
        if not application or application.get_process_id() != pid:
            continue
        lists = [n for n in descendants(application)
                 if n.getRole() == pyatspi.ROLE_LIST and n.name.startswith("graph")]
        return names_in(lists, pyatspi)
    return []


def main():
    try:
        import pyatspi
    except ImportError:
        skip("no pyatspi for " + sys.executable + " (package python3-pyatspi)")
    if "SCREEN_READER_INSIDE" not in os.environ:
        wrapped()
    studio, model, *words = sys.argv[1:]
    program = subprocess.Popen([studio, model])
    try:
        found, end = [], time.monotonic() + LIMIT
        while time.monotonic() < end and program.poll() is None:
            try:
                found = graphs(pyatspi, program.pid)
            except Exception:  # the tree changes while it is read
                found = []
            if len(found) == 2 and all(names for _, names in found):
                break
            time.sleep(0.2)  # between two questions: the bridge has no event for "complete"
        for title, names in found:
            print(title + ":", len(names), "nodes:", "; ".join(names[:6]))
        missing = [w for w in words for _, names in found if not any(w in n for n in names)]
        nameless = sum(not n.strip() for _, names in found for n in names)
        if len(found) != 2 or missing or nameless:
            print(f"failed: {len(found)} graphs, missing {missing}, without a name {nameless}")
            sys.exit(1)
    finally:
        program.kill()
        program.wait()


main()
