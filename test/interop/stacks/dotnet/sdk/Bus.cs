using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;

namespace Dynabus.Checks.Sdk;

/// <summary>
/// The namespace under test, as the environment names it. <c>DYNABUS_TRANSPORT</c> says how messaging clients reach it:
/// plain, tls, websocket or proxy.
/// </summary>
internal sealed class Bus : IAsyncDisposable
{
    private const string EmulatorFlag = "UseDevelopmentEmulator=true";

    private readonly string run = Guid.NewGuid().ToString("N")[..8];
    private readonly Uri control = new(Needed("DYNABUS_CONTROL").TrimEnd('/') + "/");
    private readonly bool usesTls;
    private int names;

    public Bus()
    {
        Transport = Environment.GetEnvironmentVariable("DYNABUS_TRANSPORT") ?? "plain";
        usesTls = Transport is "tls" or "websocket";
        var given = Needed("DYNABUS_CONNECTION_STRING");
        var way = Transport == "proxy" ? Needed("DYNABUS_PROXY_CONNECTION_STRING") : given;
        ConnectionString = usesTls ? way.Replace(EmulatorFlag, "") : way;
        Connection = ServiceBusConnectionStringProperties.Parse(ConnectionString);
        AdministrationConnectionString = usesTls ? given.Replace(EmulatorFlag, "") : given;
        Administration = new ServiceBusAdministrationClient(AdministrationConnectionString);
        Client = NewClient();
    }

    public string Transport { get; }

    /// <summary>Of the messaging clients.</summary>
    public string ConnectionString { get; }

    public ServiceBusConnectionStringProperties Connection { get; }

    /// <summary>Where messaging clients connect to, with the port.</summary>
    public Uri Endpoint => Connection.Endpoint;

    /// <summary>A proxy serves messaging only; its clients administrate the namespace itself.</summary>
    public string AdministrationConnectionString { get; }

    public ServiceBusAdministrationClient Administration { get; }

    /// <summary>The client that most checks share, so that they share a connection.</summary>
    public ServiceBusClient Client { get; }

    public ServiceBusTransportType TransportType =>
        Transport == "websocket" ? ServiceBusTransportType.AmqpWebSockets : ServiceBusTransportType.AmqpTcp;

    public ServiceBusClient NewClient(Action<ServiceBusClientOptions>? change = null) =>
        new(ConnectionString, OptionsWith(change));

    /// <summary>A client whose operations are tried once, each for so long.</summary>
    public ServiceBusClient NewImpatientClient(double trySeconds = 5) =>
        NewClient(options => options.RetryOptions = new ServiceBusRetryOptions
        {
            MaxRetries = 0,
            TryTimeout = TimeSpan.FromSeconds(trySeconds),
        });

    public ServiceBusClientOptions OptionsWith(Action<ServiceBusClientOptions>? change = null)
    {
        var options = new ServiceBusClientOptions
        {
            TransportType = TransportType,
            // With TLS the client takes the port of Azure, whatever port the connection string has.
            CustomEndpointAddress = usesTls ? Endpoint : null,
        };
        change?.Invoke(options);
        return options;
    }

    /// <summary>The connection string of the messaging clients with another key.</summary>
    public string WithKey(string name, string key) =>
        Rebuilt($"SharedAccessKeyName={name};SharedAccessKey={key}");

    public string WithSignature(string signature) => Rebuilt($"SharedAccessSignature={signature}");

    public string NewName(string kind = "queue") => $"sdk-{run}-{kind}-{Interlocked.Increment(ref names)}";

    public async Task<string> NewQueue(Action<CreateQueueOptions>? change = null)
    {
        var options = new CreateQueueOptions(NewName());
        change?.Invoke(options);
        await Administration.CreateQueueAsync(options);
        return options.Name;
    }

    public Task<string> NewSessionQueue(Action<CreateQueueOptions>? change = null) =>
        NewQueue(options =>
        {
            options.RequiresSession = true;
            change?.Invoke(options);
        });

    public async Task<string> NewTopic(Action<CreateTopicOptions>? change = null)
    {
        var options = new CreateTopicOptions(NewName("topic"));
        change?.Invoke(options);
        await Administration.CreateTopicAsync(options);
        return options.Name;
    }

    public async Task<string> NewSubscription(string topic, Action<CreateSubscriptionOptions>? change = null)
    {
        var options = new CreateSubscriptionOptions(topic, $"s{Interlocked.Increment(ref names)}");
        change?.Invoke(options);
        await Administration.CreateSubscriptionAsync(options);
        return options.SubscriptionName;
    }

    /// <summary>Sends one message for each body.</summary>
    public async Task Send(string entity, params string[] bodies)
    {
        await using var sender = Client.CreateSender(entity);
        await sender.SendMessagesAsync(bodies.Select(body => new ServiceBusMessage(body)));
    }

    public async Task SendToSession(string entity, string session, params string[] bodies)
    {
        await using var sender = Client.CreateSender(entity);
        await sender.SendMessagesAsync(bodies.Select(body => new ServiceBusMessage(body) { SessionId = session }));
    }

    /// <summary>The bodies of what is left in a queue or a subscription's path, without changing it.</summary>
    public async Task<IReadOnlyList<string>> Content(string path, SubQueue subQueue = SubQueue.None)
    {
        await using var receiver = Client.CreateReceiver(path, new ServiceBusReceiverOptions { SubQueue = subQueue });
        var messages = await receiver.PeekMessagesAsync(100, fromSequenceNumber: 0);
        return [.. messages.Select(message => message.Body.ToString())];
    }

    /// <summary>A receiver of the dead letters of a queue, or of a subscription's path.</summary>
    public ServiceBusReceiver DeadLettersOf(string path) =>
        Client.CreateReceiver(path, new ServiceBusReceiverOptions { SubQueue = SubQueue.DeadLetter });

    /// <summary>Ends the namespace, with all its connections, and waits until it serves again.</summary>
    public async Task Restart()
    {
        using var http = new HttpClient();
        using var answer = await http.PostAsync(new Uri(control, "restart"), null);
        answer.EnsureSuccessStatusCode();
    }

    public ValueTask DisposeAsync() => Client.DisposeAsync();

    private string Rebuilt(string credential)
    {
        var flag = ConnectionString.Contains(EmulatorFlag) ? EmulatorFlag : "";
        return $"Endpoint={Endpoint};{credential};{flag}";
    }

    private static string Needed(string variable) =>
        Environment.GetEnvironmentVariable(variable) ?? throw new InvalidOperationException($"{variable} is not set");
}
