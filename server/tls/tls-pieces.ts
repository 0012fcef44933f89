import { TLSSocket } from 'node:tls';

type Written = (error?: Error | null) => void;

/** What is encrypted at once: a few records of TLS, and as much as one frame of AMQP. */
const PIECE_BYTES = 64 * 1024;

/**
 * A TLS socket that hands what it sends to OpenSSL in pieces. As long as a connection lives, OpenSSL
 * keeps memory for all that was ever written to it at once: after one answer of 1 MB, 1 MB, which
 * neither the heap nor anything else shows.
 */
export class PiecewiseTlsSocket extends TLSSocket {
  override _write(chunk: Buffer | string, encoding: BufferEncoding, written: Written): void {
    if (chunk.length <= PIECE_BYTES / 4) super._write(chunk, encoding, written);
    else this.#writePieces(bytesOf(chunk, encoding), written);
  }

  override _writev(
    chunks: { readonly chunk: Buffer | string; readonly encoding: BufferEncoding }[],
    written: Written,
  ): void {
    const all = chunks.map(({ chunk, encoding }) => bytesOf(chunk, encoding));
    this.#writePieces(Buffer.concat(all), written);
  }

  #writePieces(bytes: Buffer, written: Written): void {
    if (bytes.byteLength <= PIECE_BYTES) {
      super._write(bytes, 'buffer' as BufferEncoding, written);
      return;
    }
    super._write(bytes.subarray(0, PIECE_BYTES), 'buffer' as BufferEncoding, (error) => {
      if (error) written(error);
      else this.#writePieces(bytes.subarray(PIECE_BYTES), written);
    });
  }
}

function bytesOf(chunk: Buffer | string, encoding: BufferEncoding): Buffer {
  return typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
}
