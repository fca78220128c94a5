"""A TCP proxy that makes the network of one client bad, in a thread of its own.

One Gate is one listening port with its target.  What it does to connections is changed at
any time from any thread:

    cut()          close all connections (both ends see a reset or an end)
    lose_reply()   the next bytes from the server are dropped and the connection is closed:
                   the server has done what it was asked for, the client does not know
    delay_ms = N   each chunk waits N ms, in both directions
    hole = True    nothing passes, connections stay: as if packets were lost
    refuse = True  new connections are closed at once

SPDX-License-Identifier: MIT
"""

import asyncio
import socket
import struct
import threading


class Gate:
    def __init__(self, loop, port, target):
        self.loop = loop
        self.port = port
        self.target = target
        self.delay_ms = 0
        self.hole = False
        self.refuse = False
        self.losing = False
        self.writers = set()

    async def pump(self, reader, writer, from_server, both):
        try:
            while True:
                data = await reader.read(65536)
                if not data:
                    break
                if from_server and self.losing:
                    self.losing = False
                    break
                if self.delay_ms:
                    await asyncio.sleep(self.delay_ms / 1000)
                while self.hole:
                    await asyncio.sleep(0.02)
                writer.write(data)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for one in both:
                one.close()

    async def serve(self, reader, writer):
        if self.refuse:
            writer.close()
            return
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        both = (writer, server_writer)
        for one in both:
            one.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.writers.update(both)
        await asyncio.gather(self.pump(reader, server_writer, False, both),
                             self.pump(server_reader, writer, True, both))
        self.writers.difference_update(both)

    async def listen(self):
        await asyncio.start_server(self.serve, "127.0.0.1", self.port)

    async def close_all(self):
        for writer in list(self.writers):
            sock = writer.get_extra_info("socket")
            if sock is not None:
                # Linger 0: the peers see a reset and not an orderly end.
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    def cut(self):
        asyncio.run_coroutine_threadsafe(self.close_all(), self.loop).result(5)

    def lose_reply(self):
        self.losing = True

    def heal(self):
        self.delay_ms = 0
        self.hole = False
        self.refuse = False
        self.losing = False


class Proxy:
    """All gates of a test, served by one thread."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda loop, context: None)
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def gate(self, port, target):
        gate = Gate(self.loop, port, target)
        asyncio.run_coroutine_threadsafe(gate.listen(), self.loop).result(5)
        return gate
