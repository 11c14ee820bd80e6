package orbax

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
)

// JAXArray is an array that Orbax loads as an array of JAX.
type JAXArray struct {
	Param      string
	Impl       string // name of the implementation, if it has typed PRNG keys
	Sharding   string // the devices that it lies on, as a JSON object; "" is the first device of the host
	WriteShape []int  // shape of what one writer has written in one piece
	ChunkShape []int  // shape of what is read in one piece
}

// OfKeys returns the arrays that have typed PRNG keys.
func OfKeys(arrays []JAXArray) []JAXArray {
	return slices.DeleteFunc(slices.Clone(arrays), func(a JAXArray) bool { return a.Impl == "" })
}

// AppendArrays appends array_metadatas/process_0 for the arrays.
func AppendArrays(dst []byte, arrays []JAXArray) []byte {
	dst = append(dst, `{"array_metadatas":[`...)
	for i, a := range arrays {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, `{"array_metadata":{"param_name":`...), a.Param)
		dst = appendShape(append(dst, `,"write_shape":`...), a.WriteShape)
		dst = appendShape(append(dst, `,"chunk_shape":`...), a.ChunkShape)
		dst = append(dst, `,"ext_metadata":`...)
		if a.Impl == "" {
			dst = append(dst, "null}}"...)
			continue
		}
		dst = appendString(append(dst, `{"random_key_impl":`...), a.Impl)
		dst = append(dst, "}}}"...)
	}
	return append(dst, "]}"...)
}

// AppendSharding appends _sharding for the arrays. An array without a sharding is placed on the
// device that every host has, to which JAX arrays are loaded if the caller names no device.
func AppendSharding(dst []byte, arrays []JAXArray) []byte {
	const first = `{"sharding_type": "SingleDeviceSharding", "device_str": "cpu:0"}`
	dst = append(dst, '{')
	for i, a := range arrays {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, base64.URLEncoding.EncodeToString([]byte(a.Param)))
		dst = appendString(append(dst, ':'), cmp.Or(a.Sharding, first))
	}
	return append(dst, '}')
}

// ParseArrays reads array_metadatas/process_N and returns, for each parameter
// that holds a typed PRNG key, the name of the key's implementation.
func ParseArrays(file string, b []byte) (map[string]string, error) {
	var d struct {
		Arrays []struct {
			Array struct {
				Param string `json:"param_name"`
				Ext   *struct {
					Impl string `json:"random_key_impl"`
				} `json:"ext_metadata"`
			} `json:"array_metadata"`
		} `json:"array_metadatas"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, corrupt(ArraysDir+"/"+file, "%v", err)
	}
	impls := map[string]string{}
	for _, a := range d.Arrays {
		if a.Array.Ext != nil && a.Array.Ext.Impl != "" {
			impls[a.Array.Param] = a.Array.Ext.Impl
		}
	}
	return impls, nil
}
