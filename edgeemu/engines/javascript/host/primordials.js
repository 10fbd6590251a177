// What the host needs of the language, as it was before code of the project could change it.

const { bind, call } = Function.prototype;

/** A method as a function whose first argument is what it is called on. */
export const uncurry = bind.bind(call);

export const { isArray } = Array;
export const { keys } = Object;
export const { parse, stringify } = JSON;
export const arrayFrom = Array.from.bind(Array);
export const arrayMap = uncurry(Array.prototype.map);
export const indexOf = uncurry(String.prototype.indexOf);
export const promiseThen = uncurry(Promise.prototype.then);
export const slice = uncurry(String.prototype.slice);
export const startsWith = uncurry(String.prototype.startsWith);
export const wellFormed = uncurry(String.prototype.toWellFormed);

/** A map whose methods are its own. */
export class SafeMap extends Map {}
for (const [name, found] of Object.entries(Object.getOwnPropertyDescriptors(Map.prototype))) {
  if (name !== "constructor") Object.defineProperty(SafeMap.prototype, name, found);
}

/** Look at how a promise ends, so that its failure is nobody's surprise. */
export function ignore(promise) {
  promiseThen(promise, undefined, () => {});
}
