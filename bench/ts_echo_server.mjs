// The peer of bench_stdio: one `echo` tool on the official TypeScript server, version 2, on stdio,
// both eras. With --check it only says whether its packages are there: exit 0, or 1.
const check = process.argv.includes('--check');
let packages;

try {
    packages = await Promise.all([
        import('@modelcontextprotocol/server'),
        import('@modelcontextprotocol/server/stdio'),
        import('zod'),
    ]);
} catch (error) {
    if (!check) {
        console.error(`ts_echo_server: ${error.message}`);
    }
    process.exit(1);
}
if (check) {
    process.exit(0);
}

const [{ McpServer }, { serveStdio }, { z }] = packages;

serveStdio(() => {
    const server = new McpServer({ name: 'ts-echo', version: '1.0.0' }, { capabilities: { tools: {} } });

    server.registerTool(
        'echo',
        { description: 'Returns the message', inputSchema: z.object({ message: z.string() }) },
        async ({ message }) => ({ content: [{ type: 'text', text: message }] }),
    );
    return server;
});
