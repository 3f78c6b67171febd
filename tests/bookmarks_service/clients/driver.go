// Make the calls that standard input describes, each in a line of JSON, and print the answers in the same way.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"

	openapi "github.com/GIT_USER_ID/GIT_REPO_ID" // the generated client, whose module has this name by default
)

type call struct {
	Operation     string
	Parameters    map[string]json.RawMessage
	Body          json.RawMessage
	File          *string
	Authorization string
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// camelized returns the name that the generator gives to an operation or parameter.
func camelized(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// decoded returns a value of this type.
func decoded(text json.RawMessage, kind reflect.Type) reflect.Value {
	value := reflect.New(kind)
	check(json.Unmarshal(text, value.Interface()))
	return value.Elem()
}

// authorized returns a context with the token of one of the two schemes.
func authorized(header string) context.Context {
	if token := strings.TrimPrefix(header, "Bearer "); token != header {
		return context.WithValue(context.Background(), openapi.ContextAccessToken, token)
	}
	keys := map[string]openapi.APIKey{"UsergroupsApiToken": {Key: header}}
	return context.WithValue(context.Background(), openapi.ContextAPIKeys, keys)
}

// temporary returns a file with this content, which the client closes.
func temporary(content string) *os.File {
	file, err := os.CreateTemp("", "")
	check(err)
	check(os.Remove(file.Name()))
	_, err = file.WriteString(content)
	check(err)
	_, err = file.Seek(0, io.SeekStart)
	check(err)
	return file
}

// method returns the method of one of the client's services.
func method(client *openapi.APIClient, name string) reflect.Value {
	services := reflect.ValueOf(client).Elem()
	for i := 0; i < services.NumField(); i++ {
		if services.Field(i).Kind() == reflect.Ptr && services.Type().Field(i).IsExported() {
			if found := services.Field(i).MethodByName(name); found.IsValid() {
				return found
			}
		}
	}
	panic(name)
}

// answer makes a call and returns the response and the model of its body.
func answer(client *openapi.APIClient, ctx context.Context, call call) (*http.Response, any) {
	arguments := []reflect.Value{reflect.ValueOf(ctx)}
	if id, ok := call.Parameters["id"]; ok {
		arguments = append(arguments, decoded(id, reflect.TypeOf("")))
		delete(call.Parameters, "id")
	}
	request := method(client, camelized(call.Operation)).Call(arguments)[0]
	for name, value := range call.Parameters {
		set := request.MethodByName(camelized(name))
		request = set.Call([]reflect.Value{decoded(value, set.Type().In(0))})[0]
	}
	if call.File != nil {
		request = request.MethodByName("Body").Call([]reflect.Value{reflect.ValueOf(temporary(*call.File))})[0]
	}
	// The name of the method that sets the body differs. Its only argument is a model: a struct other than time.Time.
	for i := 0; call.Body != nil && i < request.NumMethod(); i++ {
		set := request.Method(i)
		if set.Type().NumIn() == 1 && set.Type().In(0).Kind() == reflect.Struct && set.Type().In(0).PkgPath() != "time" {
			request = set.Call([]reflect.Value{decoded(call.Body, set.Type().In(0))})[0]
			break
		}
	}
	results := request.MethodByName("Execute").Call(nil)
	response := results[1].Interface().(*http.Response)
	if response == nil {
		panic(results[2].Interface())
	}
	if failure, ok := results[2].Interface().(*openapi.GenericOpenAPIError); ok {
		return response, failure.Model()
	}
	return response, results[0].Interface()
}

func main() {
	configuration := openapi.NewConfiguration()
	configuration.Servers = openapi.ServerConfigurations{{URL: os.Args[1]}}
	client := openapi.NewAPIClient(configuration)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var call call
		check(json.Unmarshal(lines.Bytes(), &call))
		response, parsed := answer(client, authorized(call.Authorization), call)
		content, err := io.ReadAll(response.Body)
		check(err)
		if file, ok := parsed.(*os.File); ok {
			exported, err := io.ReadAll(file)
			check(err)
			parsed = string(exported)
		}
		text, err := json.Marshal(map[string]any{
			"status": response.StatusCode, "content": string(content), "parsed": parsed,
		})
		check(err)
		fmt.Println(string(text))
	}
}
