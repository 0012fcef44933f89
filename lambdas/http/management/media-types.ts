import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';

const JSON_TYPES: readonly string[] = ['application/json'];
const ANY_TYPES: readonly string[] = ['*/*', 'application/*'];
const XML_TYPES: readonly string[] = ['application/atom+xml', 'application/xml', 'text/xml'];

/** Whether `Accept` names a media type, and not with a quality of 0. A range that includes it does not name it. */
export function acceptsType({ headers }: Request, type: string): boolean {
  return (qualityOf(mediaRanges(headers.get('accept') ?? ''), [type]) ?? 0) > 0;
}

/** Whether a request has a JSON body, which its Content-Type says; any other body is ATOM (semantics G25). */
export function hasJsonBody({ headers }: Request): boolean {
  return JSON_TYPES.includes(typeOf(headers.get('content-type') ?? ''));
}

/**
 * Whether to answer a request in JSON (semantics G25): `Accept` prefers `application/json` to XML and to any type.
 * Where it prefers neither, the answer to a PUT has the form of its body, and any other is ATOM: the libraries of many
 * clients ask for JSON or anything, whatever the client expects.
 */
export function answersJson(request: Request): boolean {
  const ranges = mediaRanges(request.headers.get('accept') ?? '');
  const json = qualityOf(ranges, JSON_TYPES) ?? qualityOf(ranges, ANY_TYPES) ?? 0;
  const xml = qualityOf(ranges, XML_TYPES) ?? qualityOf(ranges, ANY_TYPES) ?? 0;
  return json === xml ? request.method === 'PUT' && hasJsonBody(request) : json > xml;
}

/**
 * Whether to refuse a request in JSON (semantics H5, G25): `Accept` names `application/json`, and no type of XML that
 * it prefers. Where it prefers neither of both, an error of management has the form that the answer would have, and
 * one of an operation on messages, which has XML otherwise, that of the type that is named first.
 */
export function failsInJson(request: Request, isOnMessages: boolean): boolean {
  const ranges = mediaRanges(request.headers.get('accept') ?? '');
  const json = qualityOf(ranges, JSON_TYPES) ?? 0;
  const xml = qualityOf(ranges, XML_TYPES) ?? 0;
  if (json !== xml) return json > xml;
  if (!isOnMessages) return answersJson(request);
  const first = ranges.find(({ type }) => JSON_TYPES.includes(type) || XML_TYPES.includes(type));
  return json > 0 && first !== undefined && JSON_TYPES.includes(first.type);
}

interface MediaRange {
  readonly type: string;
  /** 0 to 1; 0 = not acceptable. */
  readonly quality: number;
}

/** A long header is ignored: unauthenticated clients send it too, and parsing it takes time. */
function mediaRanges(accept: string): readonly MediaRange[] {
  if (accept.length > BUDGETS.request.acceptLength) return [];
  return accept.split(',').map((range) => {
    const parameters = range.split(';').slice(1);
    const text = parameters.map((one) => /^\s*q\s*=\s*([\d.]+)\s*$/i.exec(one)?.[1]).find(Boolean);
    const quality = Number(text ?? 1);
    return { type: typeOf(range), quality: Number.isNaN(quality) ? 1 : quality };
  });
}

/** A media type without its parameters, in lower case. */
export function typeOf(text: string): string {
  const [type = ''] = text.split(';');
  return type.trim().toLowerCase();
}

/** The highest quality of those of `types` that are named; undefined if none is. */
function qualityOf(ranges: readonly MediaRange[], types: readonly string[]): number | undefined {
  const named = ranges.filter(({ type }) => types.includes(type));
  return named.length === 0 ? undefined : Math.max(...named.map(({ quality }) => quality));
}
