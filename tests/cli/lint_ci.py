# SPDX-License-Identifier: Apache-2.0
"""The CI examples: YAML that loads, with the parts that their hosts need. Exit code 77: no parser."""
import sys

try:
    import yaml
except ImportError:
    print("python3-yaml is not at hand")
    sys.exit(77)

github, gitlab = (yaml.safe_load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
for name, job in github["jobs"].items():
    assert "runs-on" in job, name
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step), step
jobs = {name: job for name, job in gitlab.items() if name != "stages"}
for name, job in jobs.items():
    assert job["stage"] in gitlab["stages"], name
    assert job["script"] and all(isinstance(line, str) for line in job["script"]), name
