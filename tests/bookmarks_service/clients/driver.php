<?php
// Make the calls that standard input describes, each in a line of JSON, and print the answers in the same way.

require '/usr/share/php/GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    $path = __DIR__ . '/lib/' . strtr(substr($class, strlen('OpenAPI\\Client\\')), '\\', '/') . '.php';
    if (str_starts_with($class, 'OpenAPI\\Client\\') && is_file($path)) {
        require $path;
    }
});

use GuzzleHttp\Client;
use GuzzleHttp\HandlerStack;
use GuzzleHttp\Middleware;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\ObjectSerializer;

function camelized(string $name): string
{
    return str_replace('_', '', ucwords($name, '_'));
}

$configuration = (new Configuration())->setHost($argv[1]);
ObjectSerializer::setDateTimeFormat('Y-m-d\TH:i:s.up'); // with microseconds
$history = []; // each request and its response
$handler = HandlerStack::create();
$handler->push(Middleware::history($history));
$http = new Client(['handler' => $handler]);
$apis = array_map(
    fn (string $file) => new ('OpenAPI\\Client\\Api\\' . basename($file, '.php'))($http, $configuration),
    glob(__DIR__ . '/lib/Api/*.php'),
);

while ($line = fgets(STDIN)) {
    $call = json_decode($line, true);
    $name = lcfirst(camelized($call['operation'])) . 'WithHttpInfo';
    $api = current(array_filter($apis, fn (object $api) => method_exists($api, $name)));
    if (str_starts_with($call['authorization'], 'Bearer ')) {
        $configuration->setAccessToken(substr($call['authorization'], strlen('Bearer ')));
    } else {
        $configuration->setApiKey('Authorization', $call['authorization']);
    }
    $arguments = $call['parameters'];
    foreach ((new ReflectionMethod($api, $name))->getParameters() as $parameter) {
        $model = 'OpenAPI\\Client\\Model\\' . camelized($parameter->getName());
        if ($call['body'] !== null && class_exists($model)) {
            $arguments[$parameter->getName()] = new $model($call['body']);
        }
    }
    if ($call['file'] !== null) {
        $arguments['body'] = $call['file'];
    }
    try {
        [$parsed, $status] = $api->$name(...$arguments);
    } catch (ApiException $error) {
        [$parsed, $status] = [$error->getResponseObject(), $error->getCode()];
    }
    $content = (string) end($history)['response']->getBody();
    $parsed = $parsed instanceof SplFileObject
        ? file_get_contents($parsed->getPathname())
        : ObjectSerializer::sanitizeForSerialization($parsed);
    echo json_encode(['status' => $status, 'content' => $content, 'parsed' => $parsed], JSON_THROW_ON_ERROR), "\n";
}
