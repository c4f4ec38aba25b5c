// Bullpen's only script. Every page works without it; it adds the live view, dialogs, ticking and keys.
