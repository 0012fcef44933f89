/** Work turns of one piece of work each; the test ends each turn. */
export function singleTurns() {
  const waiting: (() => void)[] = [];
  let isTaken = false;
  const next = async () => {
    if (isTaken) await new Promise<void>((resolve) => waiting.push(resolve));
    isTaken = true;
  };
  const end = () => {
    const goOn = waiting.shift();
    isTaken = goOn !== undefined;
    goOn?.();
  };
  return { workTurns: { next }, end };
}
