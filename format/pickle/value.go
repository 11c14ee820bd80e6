package pickle

import "strconv"

// A Global is a name of a module: of a class or function that nothing imports.
type Global struct{ Module, Name string }

// String returns the full name, such as "collections.OrderedDict".
func (g Global) String() string { return g.Module + "." + g.Name }

// A List is a list of Python.
type List struct{ Items []any }

// A Tuple is a tuple of Python.
type Tuple struct{ Items []any }

// A Set is a set or frozenset of Python, in the order of the stream.
type Set struct{ Items []any }

// A Dict is a dictionary of Python. Its pairs are in the order of the stream. A key may occur more
// than once; the last one counts.
type Dict struct{ Keys, Values []any }

// Get returns the value of a key that is a string; ok is false if there is no such key.
func (d *Dict) Get(key string) (value any, ok bool) {
	for i := len(d.Keys) - 1; i >= 0; i-- {
		if k, is := d.Keys[i].(string); is && k == key {
			return d.Values[i], true
		}
	}
	return nil, false
}

// An Object is what a call of a name, or an instance of a class, would become. Nothing was called.
type Object struct {
	Of    Global
	Args  []any // of the call
	State any   // that the instance gets; nil if it gets none
	Items []any // that are appended to it
	Dict        // that are set in it
}

// A Persistent is a reference to something outside of the stream.
type Persistent struct{ ID any }

// Kind names the type of a value in Python's words, for messages.
func Kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case int64:
		return "an int"
	case float64:
		return "a float"
	case string:
		return "a str"
	case []byte:
		return "bytes"
	case *List:
		return "a list of " + strconv.Itoa(len(v.Items))
	case *Tuple:
		return "a tuple of " + strconv.Itoa(len(v.Items))
	case *Dict:
		return "a dict of " + strconv.Itoa(len(v.Keys))
	case *Set:
		return "a set"
	case Global:
		return "the name " + v.String()
	case *Object:
		return "a value of " + v.Of.String()
	case *Persistent:
		return "a persistent id"
	}
	return "an int of more than 64 bits"
}
