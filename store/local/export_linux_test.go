package local

// Dying is dying.
var Dying = dying
