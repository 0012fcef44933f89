import { connect, type Socket } from 'node:net';
import type { LoadRandom } from '../../support/load-random.ts';
import { conversation, type Keys } from './fuzz-conversation.ts';
import { bomb } from './fuzz-values.ts';

/** The time for the service to answer, unless the connection ends before. */
const PATIENCE_MS = 15;
const NOISE_BYTES_MAX = 600;
const UPGRADE = (path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: AMQPWSB10\r\n\r\n`;

/** How a client splits its input. */
type Pace = 'atOnce' | 'frameByFrame' | 'bytes' | 'pieces';
/** How it disconnects. */
type Leave = 'destroy' | 'reset' | 'halfClose';

/** One hostile connection: nearly valid frames, split and disconnected in a random way. */
export async function hostileConnection(
  random: LoadRandom,
  port: number,
  keys: Keys,
): Promise<void> {
  const frames = openingOf(random, keys);
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  // Some never read.
  if (random.chance(0.9)) socket.resume();
  const pace = random.pick<Pace>(['atOnce', 'atOnce', 'frameByFrame', 'bytes', 'pieces']);
  for (const piece of piecesOf(random, frames, pace)) {
    if (socket.destroyed) break;
    socket.write(piece);
    if (pace !== 'atOnce') await new Promise(setImmediate);
  }
  await leave(socket, random.pick<Leave>(['destroy', 'reset', 'halfClose']), closed);
}

async function leave(socket: Socket, how: Leave, closed: Promise<unknown>): Promise<void> {
  if (how === 'halfClose') socket.end();
  const enough = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  await Promise.race([closed, enough]);
  if (how === 'reset') socket.resetAndDestroy();
  else socket.destroy();
  await closed;
}

function openingOf(random: LoadRandom, keys: Keys): readonly Buffer[] {
  const drawn = random.next();
  if (drawn < 0.06) return [noise(random)];
  if (drawn < 0.1)
    return [Buffer.from([0x16, 3, 1, random.below(3), random.below(256)]), noise(random)];
  if (drawn < 0.16) return http(random);
  const frames = conversation(random, keys);
  if (drawn < 0.26) return inWebSocket(random, mutated(random, frames));
  return drawn < 0.4 ? frames : mutated(random, frames);
}

function http(random: LoadRandom): readonly Buffer[] {
  const said = random.pick([
    'GET / HTTP/1.1\r\n',
    'POST /q/messages HTTP/1.1\r\nContent-Length: 99999\r\n\r\nx',
    'AMQ',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    UPGRADE('/elsewhere'),
    UPGRADE('/%E0%A4%A'),
    'GET /$servicebus/websocket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  ]);
  return random.chance(0.3) ? [Buffer.from(said), noise(random)] : [Buffer.from(said)];
}

/** WebSocket frames as a client masks them (with zeros); some are invalid. */
function inWebSocket(random: LoadRandom, frames: readonly Buffer[]): readonly Buffer[] {
  const wrapped = frames.map((frame) => {
    const head = Buffer.alloc(8);
    head[0] = random.chance(0.97) ? 0x82 : random.below(256);
    head[1] = random.chance(0.97) ? 0xfe : random.below(256);
    head.writeUInt16BE(Math.min(frame.length, 0xffff), 2);
    return Buffer.concat([head, frame]);
  });
  return [Buffer.from(UPGRADE('/$servicebus/websocket')), ...wrapped];
}

/** Makes a few changes to a conversation. */
function mutated(random: LoadRandom, frames: readonly Buffer[]): Buffer[] {
  const changed = frames.map((frame) => Buffer.from(frame));
  for (let i = random.between(1, 3); i > 0; i--) mutate(random, changed);
  return changed;
}

function mutate(random: LoadRandom, frames: Buffer[]): void {
  // The first frames are often spared, so that more conversations get far.
  const spared = random.chance(0.7) ? Math.min(4, frames.length - 1) : 0;
  const place = spared + random.below(frames.length - spared);
  const frame = frames[place];
  if (frame === undefined || frame.length < 8) return;
  const change = random.pick<() => void>([
    () => flip(random, frame),
    () => flip(random, frame),
    () => void frames.splice(place, 1),
    () => void frames.splice(place, 0, Buffer.from(frame)),
    () => void frames.splice(random.below(frames.length), 0, ...frames.splice(place, 1)),
    () => void frames.splice(place, 1, frame.subarray(0, random.below(frame.length))),
    () => void frame.writeUInt32BE(random.pick([0, 7, 8, 65_537, 0x7fff_ffff, 0xffff_ffff]), 0),
    () => void frame.writeUInt32BE(Math.max(8, frame.length - random.between(1, 20)), 0),
    () => void frame.writeUInt16BE(random.pick([1, 2, 4999, 5000, 65_535]), 6),
    () => void frame.writeUInt8(random.below(256), 4),
    () => void frames.splice(place, 0, framed(bomb(random))),
    () =>
      void frames.splice(place, 0, framed(Buffer.concat([frame.subarray(8, 11), bomb(random)]))),
    () => void frames.splice(place, 0, framed(Buffer.concat([frame.subarray(8), bomb(random)]))),
    () =>
      void frames.splice(place, 0, framed(Buffer.alloc(random.pick([0, 1000, 65_528, 65_529])))),
    () => void frames.splice(place, 0, noise(random)),
    () => void frames.splice(place),
  ]);
  change();
}

function flip(random: LoadRandom, frame: Buffer): void {
  for (let i = random.between(1, 3); i > 0; i--) {
    const at = random.chance(0.2) ? random.below(8) : random.below(frame.length);
    frame[at] = random.chance(0.5) ? random.below(256) : (frame[at] ?? 0) ^ (1 << random.below(8));
  }
}

function framed(data: Buffer): Buffer {
  const head = Buffer.from([0, 0, 0, 0, 2, 0, 0, 0]);
  head.writeUInt32BE(data.length + 8, 0);
  return Buffer.concat([head, data]);
}

function noise(random: LoadRandom): Buffer {
  const length = 1 + random.below(NOISE_BYTES_MAX);
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}

function piecesOf(random: LoadRandom, frames: readonly Buffer[], pace: Pace): readonly Buffer[] {
  if (pace === 'frameByFrame') return frames;
  const all = Buffer.concat(frames);
  if (pace === 'atOnce') return [all];
  // Byte by byte, up to a limit to save time.
  const step = pace === 'bytes' ? 1 : random.between(2, 100);
  const single = Math.min(all.length, step * 400);
  const pieces = Array.from({ length: Math.ceil(single / step) }, (_, i) =>
    all.subarray(i * step, Math.min((i + 1) * step, single)),
  );
  return [...pieces, all.subarray(single)];
}
