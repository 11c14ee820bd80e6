package training

import "github.com/bivouac-ml/bivouac/checkpoint/options"

// A struct that embeds Options prints all its fields, not only the fields of Options.

// String returns what is set, as JSON: see options.Print.
func (o Options) String() string { return options.Print(o) }

// GoString returns String: %#v prints no private key.
func (o Options) GoString() string { return "training.Options" + o.String() }

// MarshalJSON returns String, for people and logs.
func (o Options) MarshalJSON() ([]byte, error) { return []byte(o.String()), nil }

// String returns what is set, as JSON: see options.Print.
func (o SaveOptions) String() string { return options.Print(o) }

// GoString returns String: %#v prints no private key.
func (o SaveOptions) GoString() string { return "training.SaveOptions" + o.String() }

// MarshalJSON returns String, for people and logs.
func (o SaveOptions) MarshalJSON() ([]byte, error) { return []byte(o.String()), nil }
