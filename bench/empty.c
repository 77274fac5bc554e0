/* The floor of a start: what the system needs for any C program. Linked as toolwire is, to libc
 * alone. */
int main(void)
{
    return 0;
}
