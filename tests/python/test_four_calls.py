"""The four shell commands in docs/agents.md."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agents.md"
BUF = Path(sys.executable).with_name("buf")


def test_the_four_commands_of_the_page_play_a_decision(address: str) -> None:
    section = PAGE.read_text().split("## Four calls")[1].split("```")[1]
    commands = re.findall(r"^buf curl .*?(?<!\\)\n", section, re.M | re.S)
    assert len(commands) == 4
    values: dict[str, str] = {}
    for command in commands:
        arguments = shlex.split(command.replace("\\\n", " ").replace("127.0.0.1:50051", address))
        for placeholder, value in values.items():
            arguments = [argument.replace(placeholder, value) for argument in arguments]
        process = subprocess.run([str(BUF), *arguments[1:]], capture_output=True, text=True, timeout=60)
        assert process.returncode == 0, process.stderr
        response = json.loads(process.stdout)
        if "invitations" in response:
            values = {"CODE": response["invitations"][0]["code"]}
        elif "token" in response:
            values = {"TOKEN": response["token"], '"ID"': json.dumps(response["match"]["id"])}
        else:
            assert response["observation"]["actions"], response
            values["ACTION"] = str(response["observation"]["actions"][0].get("index", 0))
    assert response["observation"]["decision"] == 1
