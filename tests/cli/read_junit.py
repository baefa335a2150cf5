# SPDX-License-Identifier: Apache-2.0
# read_junit.py FILE: reads a JUnit file as CI servers do, with a real XML parser, and checks that its
# counts are those of its cases. Prints one line for each case: SUITE|CASE|OUTCOME.
import sys
import xml.etree.ElementTree as tree

root = tree.parse(sys.argv[1]).getroot()
problems = []


def counts(element):
    return {name: int(element.get(name)) for name in ("tests", "failures", "errors", "skipped")}


def counted(cases):
    return {"tests": len(cases), "failures": sum(c.find("failure") is not None for c in cases),
            "errors": sum(c.find("error") is not None for c in cases),
            "skipped": sum(c.find("skipped") is not None for c in cases)}


if root.tag != "testsuites":
    problems.append("the root is <%s>" % root.tag)
if counts(root) != counted(list(root.iter("testcase"))):
    problems.append("the counts of the file are wrong")
for suite in root:
    cases = suite.findall("testcase")
    if suite.tag != "testsuite" or not suite.get("name") or counts(suite) != counted(cases):
        problems.append("the counts of a suite are wrong: %s" % suite.get("name"))
    float(suite.get("time"))
    for case in cases:
        if not case.get("name") or case.get("classname") != suite.get("name") or len(case) > 1:
            problems.append("a case is wrong: %s" % case.get("name"))
        float(case.get("time"))
        outcome = case[0].tag if len(case) else "passed"
        if outcome != "passed" and not case[0].get("message"):
            problems.append("no message: %s" % case.get("name"))
        print("%s|%s|%s" % (suite.get("name"), case.get("name"), outcome))
for problem in problems:
    print(problem, file=sys.stderr)
sys.exit(1 if problems else 0)
