"""The four calls of docs/agents.md, as a shell makes them."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agents.md"
BUF = Path(sys.executable).with_name("buf")


def test_a_shell_plays_by_the_four_calls_of_the_page(address: str) -> None:
    section = PAGE.read_text().split("## Four calls")[1].split("```")[1]
    commands = re.findall(r"^buf curl .*?(?<!\\)\n", section, re.M | re.S)
    assert len(commands) == 4
    found: dict[str, str] = {}
    for command in commands:
        words = shlex.split(command.replace("\\\n", " ").replace("127.0.0.1:50051", address))
        for placeholder, value in found.items():
            words = [word.replace(placeholder, value) for word in words]
        answered = subprocess.run([str(BUF), *words[1:]], capture_output=True, text=True, timeout=60)
        assert answered.returncode == 0, answered.stderr
        answer = json.loads(answered.stdout)
        if "invitations" in answer:
            found = {"CODE": answer["invitations"][0]["code"]}
        elif "token" in answer:
            found = {"TOKEN": answer["token"], '"ID"': json.dumps(answer["match"]["id"])}
        else:
            assert answer["observation"]["actions"], answer
            found["ACTION"] = str(answer["observation"]["actions"][0].get("index", 0))
    assert answer["observation"]["decision"] == 1
