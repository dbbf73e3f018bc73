/** Places of times on a line where the time in which a run waited takes little room. */

import type { Segment } from "../state/trace";

const GAP = 0.035;

export interface Gap {
  from: number;
  to: number;
  seconds: number;
}

export class TimeScale {
  private readonly pieces: { start: number; end: number; from: number; to: number }[] = [];
  readonly gaps: Gap[] = [];
  /** Seconds of work, without those of waiting. */
  readonly seconds: number;
  readonly start: number;

  /**
   * Args: the stretches in which the outermost run worked, the first and the last moment.
   */
  constructor(segments: readonly Segment[], start: number, end: number) {
    this.start = start;
    const stretches = join(segments, start, end);
    const seconds = stretches.reduce((sum, stretch) => sum + stretch.end - stretch.start, 0);
    this.seconds = Math.max(seconds, 0.001);
    const gap = this.seconds * GAP;
    const whole = this.seconds + gap * (stretches.length - 1);
    let place = 0;
    for (const [index, stretch] of stretches.entries()) {
      const before = stretches[index - 1];
      if (before !== undefined) {
        this.gaps.push({ from: place, to: place + gap / whole, seconds: stretch.start - before.end });
        this.pieces.push({ start: before.end, end: stretch.start, from: place, to: place + gap / whole });
        place += gap / whole;
      }
      const width = (stretch.end - stretch.start) / whole;
      this.pieces.push({ ...stretch, from: place, to: place + width });
      place += width;
    }
  }

  /** Return the place of a time, from 0 to 1. */
  place(time: number): number {
    for (const piece of this.pieces) {
      if (time <= piece.end) {
        const length = piece.end - piece.start;
        const part = length <= 0 ? 0 : Math.max(0, time - piece.start) / length;
        return piece.from + part * (piece.to - piece.from);
      }
    }
    return 1;
  }

  /**
   * Return times from the start for marks on the line, not too close to each other: where work begins after a wait, and round
   * times where nothing was left out.
   */
  ticks(count: number): { place: number; seconds: number }[] {
    const places = this.gaps.length > 0 ? this.listBeginnings() : this.listRoundTimes(count);
    const ticks: { place: number; seconds: number }[] = [];
    for (const seconds of places) {
      const place = this.place(this.start + seconds);
      const last = ticks.at(-1);
      const room = last?.seconds === 0 ? 0.3 : 0.7; // "0" is short
      if (last === undefined || place - last.place > room / count) ticks.push({ place, seconds });
    }
    return ticks;
  }

  /** Return the beginnings of the stretches of work, in seconds from the start. */
  private listBeginnings(): number[] {
    return this.pieces.filter((_, index) => index % 2 === 0).map((piece) => piece.start - this.start);
  }

  private listRoundTimes(count: number): number[] {
    const step = roundUp(this.seconds / count);
    return Array.from({ length: Math.ceil(this.seconds / step) }, (_, index) => index * step);
  }
}

function join(segments: readonly Segment[], start: number, end: number): { start: number; end: number }[] {
  const stretches: { start: number; end: number }[] = [];
  for (const segment of segments) {
    const last = stretches.at(-1);
    const until = segment.end ?? end;
    if (last !== undefined && segment.start - last.end < 1) last.end = Math.max(last.end, until);
    else stretches.push({ start: segment.start, end: until });
  }
  if (stretches.length === 0) return [{ start, end: Math.max(end, start) }];
  stretches[0]!.start = Math.min(start, stretches[0]!.start);
  stretches.at(-1)!.end = Math.max(stretches.at(-1)!.end, end);
  return stretches;
}

function roundUp(seconds: number): number {
  const power = 10 ** Math.floor(Math.log10(seconds));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= seconds)!;
}
