"""Drives the kernel with Jupyter's own client, and prints its answers one line each.

The kernel is found through JUPYTER_PATH. The expectation is in tests/notebooks.rs.
"""

import os
import re
import signal
import sys
import time

from jupyter_client.manager import start_new_kernel
from jupyter_client.session import Session

LIMIT = 60


def plain(text):
    """Removes colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def told(message):
    """Formats a published message; None for those that every request has."""
    kind, content = message["header"]["msg_type"], message["content"]
    if kind == "status":
        return None
    if kind == "stream":
        return f"{content['name']} {content['text']!r}"
    if kind == "execute_input":
        return f"[{content['execution_count']}]"
    if kind in ("execute_result", "display_data"):
        data = {form: data[:4] if form == "image/svg+xml" else data for form, data in content["data"].items()}
        return f"{kind} {data}"
    if kind == "error":
        return f"error {content['ename']}: {content['evalue']}\n" + plain("\n".join(content["traceback"]))
    return f"{kind} {content}"


class Client:
    def __init__(self):
        self.manager, self.client = start_new_kernel(kernel_name="hx", startup_timeout=LIMIT)

    def published(self, request):
        """Returns the messages about a request, up to the one that it is done."""
        found = []
        while True:
            message = self.client.get_iopub_msg(timeout=LIMIT)
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["header"]["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return [text for text in map(told, found) if text is not None]
            found.append(message)

    def reply(self, request):
        while True:
            message = self.client.get_shell_msg(timeout=LIMIT)
            if message["parent_header"]["msg_id"] == request:
                return message["content"]

    def run(self, code, **options):
        request = self.client.execute(code, **options)
        return self.finish(request)

    def finish(self, request):
        reply = self.reply(request)
        for text in self.published(request):
            print(text)
        kept = {key: value for key, value in reply.items() if key not in ("traceback", "ename", "evalue") and value}
        print("=", kept)

    def ask(self, request):
        return self.reply(request)


def title(text):
    print(f"\n## {text}")


def results(it):
    title("results, streams, pictures")
    it.run("let x = arange(i32, 6).reshape([2, 3])\nprint(1)\nprint(2)\nx")
    it.run("kernel double(x: f32[m], y: mut f32[m]) grid [cdiv(m, 128)] threads 32 {\n"
           "    let t = load(tile(x, [128])[.., block_idx]);\n"
           "    copy(t + t, tile(y, [128])[.., block_idx]);\n}")
    it.run("let y = empty(f32, [200])\ndouble(ones(f32, [200]), y)\ny")
    it.run("(2, 2) : (2, 1)")
    it.run("1\n:layout (2, 2) : (1, 2)\n:type y\n2")
    it.run("test \"doubled\" { assert(1 + 1 == 2) }")
    reply = it.client.execute_interactive(":run doubled", output_hook=lambda _: None, timeout=LIMIT)
    print("tests:", reply["content"]["status"])


def project(_):
    title("a project with errors")
    with open("hx.toml", "w", encoding="utf-8") as file:
        file.write("[run]\ndevise = \"sim\"\n")
    it = Client()
    it.run("1 + 1")
    it.run("1 + 1")
    it.manager.shutdown_kernel(now=True)
    it.client.stop_channels()
    os.remove("hx.toml")


def failures(it):
    title("errors")
    it.run("y[0] = 7.0\n\nassert(y[1] == 7.0)", stop_on_error=False)
    it.run("y[0]")
    it.run("let z = unknwn + )", stop_on_error=False)
    it.run(":layuot y", stop_on_error=False)
    it.run("print(1)\n:load none.hx\nprint(2)", stop_on_error=False)
    title("requests behind an error are aborted, others are answered")
    bad, aborted = it.client.execute("nope"), it.client.execute("print(3)")
    question = it.client.kernel_info()
    print(it.reply(bad)["status"], it.reply(aborted)["status"], it.reply(question)["implementation"])
    title("silent, user expressions, blank")
    it.run("let quiet = 1\nprint(quiet)", silent=True)
    it.run("", user_expressions={"good": "quiet + 1"})
    bad = it.ask(it.client.execute("", user_expressions={"bad": "nope"}))["user_expressions"]["bad"]
    print(bad["status"], bad["ename"], bad["evalue"])


def questions(it):
    title("completion")
    for code, at in [("let π = x.resh", 14), (":lay", 4), (":layout doub", 12), ("1\n:emit cu", 10), ("arang + 1", 5)]:
        found = it.ask(it.client.complete(code, at))
        kinds = [word["type"] for word in found["metadata"]["_jupyter_types_experimental"]]
        print(code.__repr__(), found["cursor_start"], found["cursor_end"], list(zip(found["matches"], kinds)))
    title("inspection")
    for code, at in [("x", 1), ("arange(i32, ", 12), ("nothing", 3), (":type x", 3)]:
        found = it.ask(it.client.inspect(code, at))
        print(code.__repr__(), found["found"], found["data"].get("text/plain", ""))
    kernel = "kernel k(x: f32[m]) grid [cdiv(m, 128)] threads 32 {\n    let t = load(tile(x, [128])[.., block_idx]);\n}"
    found = it.ask(it.client.inspect(kernel, kernel.index("let t") + 5))["data"]
    print(found["text/plain"].splitlines()[0], "data:image/svg+xml;base64," in found["text/markdown"])
    title("is it complete?")
    for code in ["1 + 1", "for i in 0..2 {", "f(x,\n  [", "a )", ":time f(", ":type x"]:
        answer = it.ask(it.client.is_complete(code))
        print(code.__repr__(), answer["status"], answer.get("indent", "").__repr__())
    title("history")
    print(it.ask(it.client.history(hist_access_type="search", pattern="*unknwn*"))["history"])
    print(it.ask(it.client.history(hist_access_type="tail", n=1))["history"])
    print(it.ask(it.client.comm_info()))


# A kernel that runs until it is stopped.
SPIN = """kernel spin(c: mut f32[m]) grid [1] threads 32 {
    let i = 0.0;
    let r = register_tensor(f32, [4096]);
    fill(r, 1.0);
    while i >= 0.0 { i = i + 1.0; r = r * 1.5; }
    copy(r, tile(c, [4096])[.., 0]);
}
let o = empty(f32, [4096])"""


def interrupts(it):
    title("a kernel that does not end")
    it.run(SPIN)
    for how, endless in [("message", "spin(o)"), ("signal", "while true { }")]:
        title(f"an interrupt of `{endless}` by {how}")
        request = it.client.execute(f"let p = 1\nprint(\"runs\")\n{endless}", stop_on_error=False)
        while it.client.get_iopub_msg(timeout=LIMIT)["header"]["msg_type"] != "stream":
            pass
        start = time.monotonic()
        if how == "message":
            it.manager.interrupt_kernel()
        else:
            os.kill(it.manager.provisioner.pid, signal.SIGINT)
        it.finish(request)
        print("in time:", time.monotonic() - start < 5)
        it.run("y[0]")
        it.run("p", stop_on_error=False)
    title("a program that prints without end")
    request = it.client.execute("while true { print(1) }", stop_on_error=False)
    while it.client.get_iopub_msg(timeout=LIMIT)["header"]["msg_type"] != "stream":
        pass
    time.sleep(0.3)
    start = time.monotonic()
    it.manager.interrupt_kernel()
    print(it.reply(request)["ename"], "in time:", time.monotonic() - start < 5)
    it.published(request)
    title("an interrupt of nothing stops nothing")
    it.manager.interrupt_kernel()
    time.sleep(0.2)
    it.run("1 + 1")


def strangers(it):
    title("a message with another key is dropped")
    connection = it.manager.get_connection_info()
    forged = Session(key=b"another key", signature_scheme="hmac-sha256")
    socket = it.client.shell_channel.socket
    forged.send(socket, "execute_request", content={"code": "print(666)"})
    socket.send_multipart([b"no", b"message"])
    it.client.session.send(socket, "execute_request", content={"cod": 1})
    print(it.client.get_shell_msg(timeout=LIMIT)["content"])
    it.run("print(\"alive\")")
    assert connection["key"]


def end(it):
    title("restart and shutdown")
    it.manager.restart_kernel()
    it.client.wait_for_ready(timeout=LIMIT)
    it.run("y[0]", stop_on_error=False)
    request = it.client.execute("while true { }")
    while it.client.get_iopub_msg(timeout=LIMIT)["header"]["msg_type"] != "execute_input":
        pass
    start = time.monotonic()
    it.manager.shutdown_kernel()
    print("in time:", time.monotonic() - start < 4, bool(request))


def main():
    it = Client()
    try:
        for part in [results, project, failures, questions, interrupts, strangers, end]:
            part(it)
    finally:
        it.client.stop_channels()
        if it.manager.is_alive():
            it.manager.shutdown_kernel(now=True)
    sys.stdout.flush()


main()
