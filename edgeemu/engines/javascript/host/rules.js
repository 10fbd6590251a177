// The rules of the platform and the switches of the configuration, as the emulator sends them.

export const rules = {};

/** Take what the emulator says before anything is loaded. */
export function follow(sent) {
  Object.assign(rules, sent);
}
