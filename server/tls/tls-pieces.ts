import { TLSSocket } from 'node:tls';

type Written = (error?: Error | null) => void;

/** Bytes encrypted at once: a few TLS records, or one AMQP frame. */
const PIECE_BYTES = 64 * 1024;

/**
 * A TLS socket that passes its output to OpenSSL in pieces. For the life of a connection, OpenSSL keeps a buffer as
 * large as the largest single write: 1 MB after one answer of 1 MB, which no heap statistics show.
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
