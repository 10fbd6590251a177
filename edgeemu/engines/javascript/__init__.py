"""The TypeScript engine: one embedded JavaScript engine as a child process in lockstep."""
