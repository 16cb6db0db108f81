"""A model that says what a test wrote down, behind the three interfaces agent hosts speak.

POST /v1/messages answers in the dialect of Claude Code, POST /v1/responses in that of Codex, POST
/v1beta/models/NAME:streamGenerateContent in that of Gemini CLI, all streamed. Which line of the script is next is read from the conversation itself (as many calls as it
holds), so a request that is sent twice gets the same answer. Every request is kept.
"""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def member_of(told, member: str):
    """A member somewhere in an answer: hosts put what a server said into words and documents of their own."""
    if isinstance(told, str):
        for at in (match.start() for match in re.finditer(r"[{\[]", told)):
            try:
                found = member_of(json.JSONDecoder().raw_decode(told[at:])[0], member)
            except ValueError:
                continue
            if found is not None:
                return found
    elif isinstance(told, dict) and member in told:
        return told[member]
    elif isinstance(told, (dict, list)):
        for inner in told.values() if isinstance(told, dict) else told:
            found = member_of(inner, member)
            if found is not None:
                return found
    return None


def arguments_of(call: dict, answer: str) -> dict | None:
    """Of a call that is made by what the last answer says: what it names, or nothing if it does not."""
    if "read" not in call:
        return call["arguments"]
    read = call["read"]
    told = member_of(answer, read["member"])
    if told is None or "as" in read:
        return None if told is None else {read["as"]: told}
    named = re.search(read["pattern"], told)
    return json.loads(named.group(1)) if named else None


class Model:
    """`script` is a list of calls, {"name": ..., "arguments": {...}}; after it the model says "done". A call with
    {"read": {"member": M, "pattern": P}} takes its arguments from member M of the last answer, as JSON; with
    {"read": {"member": M, "as": NAME}} the member is one argument. Where the answer does not have it, the model says
    "done" as well."""

    def __init__(self, script: list[dict]) -> None:
        self.script = script
        self.requests: list[dict] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._answerer())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def next_call(self, calls_so_far: int, answer: str = "") -> dict | None:
        if calls_so_far >= len(self.script):
            return None
        call = self.script[calls_so_far]
        arguments = arguments_of(call, answer)
        return None if arguments is None else {**call, "arguments": arguments}

    def _answerer(model):
        class Answerer(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_HEAD(self):
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def do_GET(self):
                self.reply(404, "application/json", b"{}")

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                path = self.path.partition("?")[0]
                try:
                    request = json.loads(body)
                except ValueError:
                    request = {}
                model.requests.append({"path": path, "body": request,
                                       "authorization": self.headers.get("authorization")})
                if path.endswith("/count_tokens"):
                    self.reply(200, "application/json", b'{"input_tokens":1}')
                elif path.endswith("/messages"):
                    self.events(messages(model, request), request.get("stream", False))
                elif path.endswith("/responses"):
                    self.events(responses(model, request), True)
                elif path.endswith(":streamGenerateContent"):
                    self.reply(200, "text/event-stream",
                               f"data: {json.dumps(content(model, request))}\n\n".encode())
                else:
                    self.reply(404, "application/json", b"{}")

            def events(self, events, streamed):
                if not streamed:
                    message = dict(events[0][1]["message"])
                    message["content"] = [{"type": "text", "text": "ok"}]
                    message["stop_reason"] = "end_turn"
                    self.reply(200, "application/json", json.dumps(message).encode())
                    return
                text = "".join(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"
                               for name, data in events)
                self.reply(200, "text/event-stream", text.encode())

            def reply(self, status, kind, body):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
        return Answerer


def text_of(last: list) -> str:
    """Of the last answer, however the host writes it: a text, or parts of which some have one."""
    if not last or isinstance(last[0], str):
        return "".join(last)
    return "\n".join(part.get("text", "") for part in last[0])


def messages(model: Model, request: dict) -> list[tuple[str, dict]]:
    """Anthropic's messages, as events."""
    calls = sum(block.get("type") == "tool_use" for message in request.get("messages", [])
                if isinstance(message.get("content"), list) for block in message["content"])
    answers = [block["content"] for message in request.get("messages", [])
               if isinstance(message.get("content"), list) for block in message["content"]
               if block.get("type") == "tool_result"]
    # Requests without tools are the host's own: a title for the session, a look at the quota.
    call = model.next_call(calls, text_of(answers[-1:])) if request.get("tools") else None
    if call:
        block = {"type": "tool_use", "id": f"toolu_{calls:024}", "name": call["name"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call["arguments"])}
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": "done"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return [
        ("message_start", {"message": {
            "id": f"msg_{calls:024}", "type": "message", "role": "assistant", "content": [],
            "model": request.get("model", "m"), "stop_reason": None, "stop_sequence": None,
            "usage": usage}}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": "tool_use" if call else "end_turn",
                                     "stop_sequence": None}, "usage": usage}),
        ("message_stop", {}),
    ]


def responses(model: Model, request: dict) -> list[tuple[str, dict]]:
    """OpenAI's responses, as events."""
    given = request.get("input", [])
    calls = sum(item.get("type") in ("function_call", "custom_tool_call") for item in given
                if isinstance(item, dict))
    call = model.next_call(calls, text_of([item["output"] for item in given if isinstance(item, dict)
                                           and item.get("type") == "function_call_output"][-1:]))
    if call:
        item = {"id": f"fc_{calls}", "call_id": f"call_{calls}", "name": call["name"],
                "status": "completed"}
        if isinstance(call["arguments"], str):
            item.update(type="custom_tool_call", input=call["arguments"])
        else:
            item.update(type="function_call", arguments=json.dumps(call["arguments"]))
        if "namespace" in call:
            item["namespace"] = call["namespace"]
    else:
        item = {"type": "message", "id": f"msg_{calls}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "done", "annotations": []}]}
    answer = {"id": f"resp_{calls}", "object": "response", "status": "completed", "output": [item],
              "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0},
                        "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0},
                        "total_tokens": 2}}
    return [
        ("response.created", {"response": {**answer, "status": "in_progress", "output": []}}),
        ("response.output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress"}}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": answer}),
    ]


def content(model: Model, request: dict) -> dict:
    """Google's generated content, as one event."""
    calls = sum("functionCall" in part for turn in request.get("contents", [])
                for part in turn.get("parts", []))
    answers = [part["functionResponse"]["response"] for turn in request.get("contents", [])
               for part in turn.get("parts", []) if "functionResponse" in part]
    told = answers[-1] if answers else {}
    call = model.next_call(calls, told.get("output") or told.get("error") or "")
    part = ({"functionCall": {"name": call["name"], "args": call["arguments"]}} if call
            else {"text": "done"})
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP",
                            "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1,
                              "totalTokenCount": 2}}
