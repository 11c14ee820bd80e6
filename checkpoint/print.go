package checkpoint

import "github.com/bivouac-ml/bivouac/checkpoint/options"

// A struct that embeds Options prints all its fields, not only the fields of Options.

// String returns what is set, as JSON: see options.Print.
func (o LoadOptions) String() string { return options.Print(o) }

// GoString returns String: %#v prints no private key.
func (o LoadOptions) GoString() string { return "checkpoint.LoadOptions" + o.String() }

// MarshalJSON returns String, for people and logs.
func (o LoadOptions) MarshalJSON() ([]byte, error) { return []byte(o.String()), nil }

// String returns what is set, as JSON: see options.Print.
func (o DeleteOptions) String() string { return options.Print(o) }

// GoString returns String: %#v prints no private key.
func (o DeleteOptions) GoString() string { return "checkpoint.DeleteOptions" + o.String() }

// MarshalJSON returns String, for people and logs.
func (o DeleteOptions) MarshalJSON() ([]byte, error) { return []byte(o.String()), nil }

// String returns what is set, as JSON: see options.Print.
func (o SaveOptions) String() string { return options.Print(o) }

// GoString returns String: %#v prints no private key.
func (o SaveOptions) GoString() string { return "checkpoint.SaveOptions" + o.String() }

// MarshalJSON returns String, for people and logs.
func (o SaveOptions) MarshalJSON() ([]byte, error) { return []byte(o.String()), nil }

// String returns what is set, as JSON: see options.Print.
func (o ConvertOptions) String() string { return options.Print(o) }

// GoString returns String: %#v prints no private key.
func (o ConvertOptions) GoString() string { return "checkpoint.ConvertOptions" + o.String() }

// MarshalJSON returns String, for people and logs.
func (o ConvertOptions) MarshalJSON() ([]byte, error) { return []byte(o.String()), nil }
